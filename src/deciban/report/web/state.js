// What a reader has chosen, kept in the address: a link says what it shows.

import { keepLinksInside, writeAddress } from "./address.js";

/**
 * A store of plain values. What differs from the first values is in the address, as JSON.
 *
 * @param first values of a page as it opens
 * @param check (name, value) => whether a value from an address may be used
 */
export function createState(first, check = () => true) {
  const listeners = new Set();
  let values = { ...first, ...fromAddress(first, check) };

  function set(changes) {
    values = { ...values, ...changes };
    writeAddress(address(first, values));
    for (const listener of listeners) listener(values, Object.keys(changes));
  }

  addEventListener("hashchange", () => {
    values = { ...first, ...fromAddress(first, check) };
    for (const listener of listeners) listener(values, Object.keys(first));
  });
  keepLinksInside();
  return {
    get: () => values,
    set,
    reset: () => set(first),
    /** Call a function with the values and the names of those that changed, now and after changes. */
    subscribe(listener) {
      listeners.add(listener);
      listener(values, Object.keys(first));
      return () => listeners.delete(listener);
    },
  };
}

function address(first, values) {
  const changed = Object.entries(values).filter(([k, v]) => JSON.stringify(v) !== JSON.stringify(first[k]));
  return `#${changed.map(([k, v]) => `${k}=${encodeURIComponent(JSON.stringify(v))}`).join("&")}`;
}

function fromAddress(first, check) {
  const found = {};
  for (const part of location.hash.slice(1).split("&")) {
    const at = part.indexOf("=");
    const name = part.slice(0, at);
    if (at < 0 || !Object.hasOwn(first, name)) continue;
    try {
      const value = JSON.parse(decodeURIComponent(part.slice(at + 1)));
      if (check(name, value)) found[name] = value;
    } catch {
      // An address that was cut off or edited by hand: the page opens as it is.
    }
  }
  return found;
}
