// What this server offers: plans, variants, faults, promises. Each is asked once for a page.

import { get } from "./api.js";

const asked = new Map();

function once(path) {
  if (!asked.has(path)) asked.set(path, get(path));
  return asked.get(path);
}

/** PlanSummary[]; a broken file of the server's folder is left out here, and told by `broken`. */
export const plans = async () => (await once("/v1/plans")).plans;
export const broken = async () => (await once("/v1/plans")).broken ?? {};

/** VariantOffer[] */
export const variants = async () => (await once("/v1/variants")).variants;

/** TargetList: names of apps, Redis servers and webhooks. */
export const targets = () => once("/v1/targets");

/** FaultOffer[] */
export const faults = async () => (await once("/v1/faults")).faults;

/** CheckerOffer[] */
export const checkers = async () => (await once("/v1/checkers")).checkers;

/** PlanDetail: `plan` is data that a request may send back, changed or not. */
export const plan = (name) => once(`/v1/plans/${encodeURIComponent(name)}`);
