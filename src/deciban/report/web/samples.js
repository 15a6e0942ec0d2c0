// The samples of a page: true classes, and log-likelihoods whose largest in each row is zero.

const ARRAYS = {
  float32: Float32Array, float64: Float64Array, uint8: Uint8Array, uint16: Uint16Array,
  int32: Int32Array,
};

/** A packed array as numbers; their first bytes come first, then their second ones, and so on. */
export async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const size = ARRAYS[packed.type].BYTES_PER_ELEMENT, n = planes.length / size;
  const joined = new Uint8Array(planes.length);
  for (let b = 0; b < size; b++) for (let i = 0; i < n; i++) joined[i * size + b] = planes[b * n + i];
  return new ARRAYS[packed.type](joined.buffer);
}

/** The values of a page, with numbers that JSON lacks. */
export function readData() {
  const text = document.getElementById("data").textContent;
  const data = JSON.parse(text, (key, value) => (value && Object.hasOwn(value, "$number") ? Number(value.$number) : value));
  // Every error costs one, unless the page says otherwise.
  if (data.state?.costs === null) data.state.costs = data.classes.map((_, i) => data.classes.map((_, j) => Number(i !== j)));
  return data;
}

/**
 * Samples from packed columns: one of LLRs for two classes (in favor of the second), else all.
 * Row numbers count from 1, as in a spreadsheet; without them, the samples are all rows of a table.
 */
export async function readSamples(data, classes) {
  const [truth, values, rows] = await Promise.all(
    [data.truth, data.evidence, data.rows].map((one) => (one ? unpack(one) : null)),
  );
  const n = truth.length, D = classes.length;
  const logLikelihoods = new Float64Array(n * D);
  if (D === 2) {
    for (let i = 0; i < n; i++) {
      logLikelihoods[2 * i] = Math.min(0, -values[i]);
      logLikelihoods[2 * i + 1] = Math.min(0, values[i]);
    }
  } else {
    logLikelihoods.set(values);
  }
  const numbers = rows ?? Int32Array.from({ length: n }, (_, i) => i + 1);
  return { classes, truth: Uint16Array.from(truth), logLikelihoods, rows: numbers, n, D, total: data.total };
}
