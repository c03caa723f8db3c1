// The beginnings of the tags that are no metrics of the training, as core/values/side_tags.py has them.

/** Of hyperparameters: one value until the next edit. */
export const HYPERPARAMETERS = "hyperparameters/";
/** Of the use of the machine. */
export const SYSTEM = "system/";

/**
 * True for a scalar of the training.
 * @param {string} tag
 */
export const isMetric = (tag) => !tag.startsWith(HYPERPARAMETERS) && !tag.startsWith(SYSTEM);
