// Runs by the clock: what is scheduled, what became of it, and a form for a new one.

import { get, mayChange, send } from "../api.js";
import { byId, el, field, select, show } from "../dom.js";
import { markProblems, runForm } from "../runform.js";
import { failure, open } from "../shell.js";
import { ago, badge, local, standing } from "../words.js";

const list = byId("list");
const NAME = /^[A-Za-z0-9][A-Za-z0-9@._+-]{0,99}$/;
const MEANINGS = [["forbid", "forbid: the new one is left out"], ["allow", "allow: both run"], ["replace", "replace: the old one is stopped"]];

open(async (who) => {
  await refresh(who);
  if (mayChange(who)) offerNew(who);
});

async function refresh(who) {
  const { schedules } = await get("/v1/schedules");
  const last = await Promise.all(schedules.map((one) => (one.last_run ? get(`/v1/runs/${encodeURIComponent(one.last_run)}`).catch(() => null) : null)));
  const items = schedules.map((one, index) => itemOf(one, last[index], who));
  show(list, items.length ? el("div", { class: "stack" }, items) : el("div", { class: "card blank" }, el("h2", {}, "No schedules yet"), el("p", {}, "A nightly run tells a bad upgrade before people do.")));
}

function itemOf(one, run, who) {
  const { name, cron, run: wanted, concurrency, keep, enabled } = one.request;
  const failed = el("div");
  const change = async (method, body) => {
    try {
      await send(method, `/v1/schedules/${encodeURIComponent(name)}`, body);
      await refresh(who);
    } catch (error) {
      show(failed, failure(error));
    }
  };
  const flip = el("button", { type: "button", onclick: () => change("PUT", { ...one.request, enabled: !enabled }) }, enabled ? "Pause" : "Resume", el("span", { class: "aloud" }, ` ${name}`));
  const remove = el("button", { type: "button", class: "plain", onclick: () => confirm(`Remove the schedule ${name}? Its runs stay.`) && change("DELETE") }, "Remove", el("span", { class: "aloud" }, ` ${name}`));
  const fact = (term, ...value) => [el("dt", {}, term), el("dd", {}, value)];
  const planName = typeof wanted.plan === "string" ? wanted.plan : `${wanted.plan.plan ?? "a plan"} (inline)`;
  return el("section", { class: "card", "aria-label": `Schedule ${name}` },
    el("div", { class: "headline" }, el("h2", {}, name, enabled ? "" : el("span", { class: "tag" }, "paused")), mayChange(who) ? el("div", { class: "buttons" }, flip, remove) : null),
    el("dl", { class: "facts" },
      fact("When", el("code", {}, cron), one.next_at && enabled ? ["; next ", local(one.next_at)] : ""),
      fact("What", `${planName}, ${wanted.world ?? "live"}`, wanted.variants?.length ? `, on ${wanted.variants.join(", ")}` : ""),
      fact("Meanwhile", `${concurrency}; keeps ${keep} runs`),
      fact("Last run", lastOf(one, run)),
      one.last_error ? fact("Trouble", el("span", { class: "bad" }, one.last_error)) : null),
    failed);
}

function lastOf(one, run) {
  if (!one.last_run) return "none yet";
  const link = el("a", { href: `/runs/${encodeURIComponent(one.last_run)}` }, one.last_run);
  return [run ? badge(standing(run)) : "", " ", link, " ", one.last_at ? ago(one.last_at) : ""];
}

function offerNew(who) {
  const place = byId("new");
  place.classList.add("stack");
  const details = el("details", { class: "card" }, el("summary", {}, "New schedule"));
  details.addEventListener("toggle", async () => {
    if (!details.open || details.children.length > 1) return;
    try {
      details.append(await formOf(details, who));
    } catch (error) {
      details.append(failure(error));
    }
  });
  place.append(details);
}

async function formOf(details, who) {
  const run = await runForm();
  const name = el("input", { name: "name", autocomplete: "off", required: true });
  const cron = el("input", { name: "cron", autocomplete: "off", required: true, placeholder: "0 3 * * *", spellcheck: "false" });
  const keep = el("input", { name: "keep", type: "number", min: 1, max: 1000, value: "10" });
  const meanwhile = select("concurrency", MEANINGS);
  const failed = el("div");
  const form = el("form", { novalidate: true, "aria-label": "New schedule" },
    el("div", { class: "pair" }, field("Name", name), field("When", cron, "Minute, hour, day, month, weekday; UTC.")),
    el("div", { class: "pair" }, field("While its last run goes on", meanwhile), field("Ended runs to keep", keep)),
    run.fields, failed, el("div", { class: "buttons" }, el("button", { class: "primary" }, "Make the schedule")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const asked = run.request();
    const problems = [...(asked.problems ?? [])];
    if (!cron.value.trim()) problems.unshift([cron, "Say when, such as 0 3 * * * for three in the morning."]);
    if (!NAME.test(name.value.trim())) problems.unshift([name, "A name is made of letters, digits and @ . _ + -, with no spaces."]);
    markProblems(form, failed, problems.length ? problems : null);
    if (problems.length) return;
    try {
      await send("POST", "/v1/schedules", { name: name.value.trim(), cron: cron.value.trim(), run: asked.body, concurrency: meanwhile.value, keep: Number(keep.value) });
      details.open = false;
      form.remove();
      await refresh(who);
    } catch (error) {
      show(failed, failure(error));
    }
  });
  return form;
}
