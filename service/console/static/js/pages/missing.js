// The page for an address that nothing has: the shell alone, so that nav, theme and lock work.

import { open } from "../shell.js";

open(async () => {});
