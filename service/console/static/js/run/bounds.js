// Rates with their 95 % upper bound, as chaos/verdict.py computes them; a test compares the two.

import { number, percent, spoken } from "../words.js";

const Z = 1.6449;

/** 3/n for none; Wilson's score bound; several a time: Wilson and Hilferty's Poisson bound. */
export function rateUpperBound(count, exposure) {
  if (exposure <= 0) return Infinity;
  if (count === 0) return Math.min(1, 3 / exposure);
  if (count > exposure) {
    const more = count + 1;
    return (more * (1 - 1 / (9 * more) + Z / (3 * Math.sqrt(more))) ** 3) / exposure;
  }
  const rate = count / exposure;
  const centre = rate + Z ** 2 / (2 * exposure);
  const spread = Z * Math.sqrt((rate * (1 - rate)) / exposure + Z ** 2 / (4 * exposure ** 2));
  return Math.min(1, (centre + spread) / (1 + Z ** 2 / exposure));
}

/** "0 in 412 slot collisions: at most 0.73 % (95 %)": never a count without its exposure. */
export function rateSentence(promise) {
  const exposures = spoken(promise.exposure_name || "exposures");
  if (promise.exposure <= 0) return `${number(promise.count)} found; no ${exposures} were met, so no rate can be given`;
  const measured = promise.count ? `${percent(promise.count / promise.exposure)}, ` : "";
  return `${number(promise.count)} in ${number(promise.exposure)} ${exposures}: ${measured}at most ${percent(rateUpperBound(promise.count, promise.exposure))} (95 %)`;
}
