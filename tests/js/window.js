// A window that keeps what it is given.
export function window(kept = {}) {
  const page = new EventTarget();
  return Object.assign(page, {
    Event,
    localStorage: {
      getItem: (name) => kept[name] ?? null,
      setItem: (name, text) => (kept[name] = text),
    },
  });
}
