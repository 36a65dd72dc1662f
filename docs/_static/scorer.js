// SPDX-License-Identifier: Apache-2.0
// The order of search results: Sphinx's scores, with pages about the development of the package after those for its users.
const development = /^(decisions\/|architecture$|changelog$|contributing$|benchmarks$|benchmark-history$|reference\/headers$)/;
var Scorer = {
  score: ([page, , , , score]) => (development.test(page) ? score - 100 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
