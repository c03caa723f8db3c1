// The user's choices. The browser stores them for the next page; all views of a page share them. Uses no DOM but its window.

const MOST = 200; // names in a list, which collects those of all runs

/**
 * key: of the browser's storage; begin: the initial values; valid: checks a stored value, which another
 * version of nbtrain may have written.
 * @template Values
 * @typedef {{key: string, begin: Values, valid: {[name in keyof Values]: (value: any) => boolean}}} Kind
 */

/**
 * The names whose values are lists of names.
 * @template Values
 * @typedef {{[name in keyof Values]: Values[name] extends string[] ? name : never}[keyof Values]} Lists
 */

/** @template {object} Values */
export class Kept {
  /**
   * changed: called when a choice has changed, in this view or another. page: the window.
   * @param {Kind<Values>} kind
   * @param {() => void} changed
   * @param {any} [page]
   */
  constructor(kind, changed, page = globalThis) {
    this.kind = kind;
    this.changed = changed;
    this.page = page;
    this.values = read(kind, page);
    this.heed = () => {
      this.values = read(kind, page);
      changed();
    };
    this.events = [`${kind.key}-chosen`, "storage"]; // from other views of the page, and from other pages
    for (const event of this.events) page.addEventListener(event, this.heed);
  }

  /** @param {Partial<Values>} changes */
  choose(changes) {
    Object.assign(this.values, changes);
    try {
      this.page.localStorage.setItem(this.kind.key, JSON.stringify(this.values));
      this.page.dispatchEvent(new this.page.Event(this.events[0]));
    } catch {
      this.changed(); // the page has no storage
    }
  }

  /**
   * Adds a name to a list, or removes it.
   * @param {Lists<Values>} list
   * @param {string} name
   */
  toggle(list, name) {
    const names = /** @type {string[]} */ (this.values[list]);
    const changed = names.includes(name)
      ? names.filter((each) => each !== name)
      : [...names, name].slice(-MOST);
    this.choose(/** @type {any} */ ({ [list]: changed }));
  }

  close() {
    for (const event of this.events) this.page.removeEventListener(event, this.heed);
  }
}

/** @param {any} value */
export function isNames(value) {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

/**
 * Reads the stored values; those that are missing or not valid have their initial value.
 * @template {object} Values
 * @param {Kind<Values>} kind
 * @param {any} page
 * @returns {Values}
 */
function read({ key, begin, valid }, page) {
  try {
    const kept = JSON.parse(page.localStorage.getItem(key)) ?? {};
    const names = /** @type {(keyof Values)[]} */ (Object.keys(begin));
    const known = names.filter((name) => name in kept && valid[name](kept[name]));
    return { ...begin, ...Object.fromEntries(known.map((name) => [name, kept[name]])) };
  } catch {
    return { ...begin };
  }
}
