# My colleagues sent me what Privet exports. Base R reads the matrix; igraph, if I have it, the GraphML.
m <- as.matrix(read.csv("graph.csv", row.names = 1, check.names = FALSE))
stopifnot(identical(rownames(m), colnames(m)))
for (a in rownames(m)) for (b in colnames(m)) {
  if (m[a, b] == 1 && m[b, a] == 0) cat(a, "-->", b, "\n")
  if (m[a, b] == 1 && m[b, a] == 1 && a < b) cat(a, "---", b, "\n")
}
edges <- read.csv("edges.csv")
print(edges[order(-edges$confidence), ])
if (requireNamespace("igraph", quietly = TRUE)) {
  g <- igraph::read_graph("graph.graphml", format = "graphml")
  cat("igraph:", sort(igraph::V(g)$name), "\n")
}
