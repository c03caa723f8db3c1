// Curves for the tests: their ranges are their means, unless others are given.

export const curve = (x, mean, more = {}) => ({
  tag: "loss",
  segment: 0,
  stride: 1,
  abandoned: false,
  x,
  mean,
  lo: mean,
  hi: mean,
  ...more,
});

export const tail = (x, mean, more = {}) => curve(x, mean, { abandoned: true, ...more });
