// The beginnings of the tags that are no metrics of the training; core/values/side_tags.py has the same.

/** Tags of hyperparameters: one value until the next edit. */
export const HYPERPARAMETERS = "hyperparameters/";
/** Tags of the use of the machine. */
export const SYSTEM = "system/";

/**
 * True for a scalar of the training.
 * @param {string} tag
 */
export const isMetric = (tag) => !tag.startsWith(HYPERPARAMETERS) && !tag.startsWith(SYSTEM);
