// The prefixes of tags that are not metrics of the training, as in core/values/side_tags.py.

/** The prefix of hyperparameters: each has one value until the next edit. */
export const HYPERPARAMETERS = "hyperparameters/";
/** The prefix of the machine's use. */
export const SYSTEM = "system/";

/**
 * Returns whether a tag is a scalar of the training.
 * @param {string} tag
 */
export const isMetric = (tag) => !tag.startsWith(HYPERPARAMETERS) && !tag.startsWith(SYSTEM);
