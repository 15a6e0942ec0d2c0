// An order of classes in which those that are hard to tell apart stand side by side.

/** Order of the rows of a symmetric matrix of likenesses (rows of arrays): clusters by average linkage. */
export function clusterOrder(likeness) {
  let clusters = likeness.map((_, k) => [k]);
  let table = likeness.map((row) => row.map((value) => (Number.isFinite(value) ? value : 0)));
  while (clusters.length > 1) {
    const [i, j] = mostAlike(table);
    const [a, b] = [clusters[i], clusters[j]];
    const merged = table[i].map((value, k) => (value * a.length + table[j][k] * b.length) / (a.length + b.length));
    const keep = clusters.map((_, k) => k).filter((k) => k !== i && k !== j);
    table = [...keep.map((k) => [...keep.map((m) => table[k][m]), merged[k]]), [...keep.map((k) => merged[k]), 0]];
    clusters = [...keep.map((k) => clusters[k]), joinEnds(a, b, likeness)];
  }
  return clusters[0] ?? [];
}

function mostAlike(table) {
  let best = [0, 1];
  for (let i = 0; i < table.length; i++) {
    for (let j = i + 1; j < table.length; j++) if (table[i][j] > table[best[0]][best[1]]) best = [i, j];
  }
  return best;
}

/** Two orders as one, turned so that the ends that meet are the most alike. */
function joinEnds(a, b, likeness) {
  const turned = (order) => [...order].reverse();
  const ways = [[a, b], [a, turned(b)], [turned(a), b], [turned(a), turned(b)]];
  const meeting = ([x, y]) => likeness[x[x.length - 1]][y[0]] || 0;
  return ways.reduce((best, way) => (meeting(way) > meeting(best) ? way : best)).flat();
}
