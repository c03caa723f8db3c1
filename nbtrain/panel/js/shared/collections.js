// Look-ups in maps and lists whose result no type can prove. Uses no DOM.

/**
 * The value of a key; an error if the map lacks it.
 * @template Key, Value
 * @param {ReadonlyMap<Key, Value>} map
 * @param {Key} key
 * @returns {Value}
 */
export function get(map, key) {
  const value = map.get(key);
  if (value === undefined) throw new Error(`nbtrain's page knows nothing of ${key}.`);
  return value;
}

/**
 * The value of a key, made and stored if the map lacks it.
 * @template Key, Value
 * @param {Map<Key, Value>} map
 * @param {Key} key
 * @param {() => Value} make
 * @returns {Value}
 */
export function getOrMake(map, key, make) {
  if (!map.has(key)) map.set(key, make());
  return get(map, key);
}

/**
 * The last item of a list that is not empty.
 * @template Item
 * @param {ArrayLike<Item>} list
 * @returns {Item}
 */
export function lastOf(list) {
  return list[list.length - 1];
}
