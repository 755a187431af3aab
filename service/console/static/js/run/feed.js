// The events of a run as they come. The browser's EventSource resumes by itself with the id of the
// last event; where it gives up (a restart, a refusal) we begin again with `after`, ever more
// slowly. Events arrive in batches, so that a replay of thousands draws once.

import { get } from "../api.js";

const TYPES = ["state", "phase", "tick", "fault", "finding", "note", "ended"];
const BATCH_MS = 120;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15_000;

/**
 * Follows a run until its event `ended`.
 *
 * onEvents([{id, type, at, ...data}]) in order, each id once; onLink("on" | "lost" | "off").
 */
export function follow(run, { onEvents, onLink, onGone }) {
  const address = `/v1/runs/${encodeURIComponent(run)}/events`;
  let last = 0;
  let wait = FIRST_WAIT_MS;
  let waiting = [];
  let timer = null;
  let source = null;
  let ended = false;

  const flush = () => {
    timer = null;
    const batch = waiting;
    waiting = [];
    onEvents(batch);
  };

  const take = (event) => {
    const id = Number(event.lastEventId);
    if (id <= last) return;
    last = id;
    waiting.push({ ...JSON.parse(event.data), id, type: event.type });
    timer ??= setTimeout(flush, BATCH_MS);
    if (event.type === "ended") close();
  };

  const close = () => {
    ended = true;
    source?.close();
    onLink("off");
  };

  const connect = () => {
    if (ended) return;
    source = new EventSource(last ? `${address}?after=${last}` : address);
    for (const type of TYPES) source.addEventListener(type, take);
    source.addEventListener("open", () => {
      wait = FIRST_WAIT_MS;
      onLink("on");
    });
    source.addEventListener("error", () => lost(source));
  };

  const lost = async (which) => {
    if (ended || which !== source) return;
    onLink("lost");
    if (source.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    source = null;
    try {
      const now = await get(`/v1/runs/${encodeURIComponent(run)}`);
      if (now.state === "ended" && last >= now.events) return close(); // nothing will come any more
    } catch (error) {
      if (error.status === 404) return onGone(error);
    }
    setTimeout(connect, wait);
    wait = Math.min(LONGEST_WAIT_MS, wait * 2);
  };

  connect();
  return { close };
}
