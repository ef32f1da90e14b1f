# One job of bnlearn or pcalg: Rscript bench/peer_jobs.R PEER INPUT.csv OUTPUT.csv
# The input is a table with the columns v0, v1, ...; the output has the CPU seconds of each call in
# its first line and then the matrix of the graph, both ways for a line. Loading is not timed.
arguments <- commandArgs(trailingOnly = TRUE)
peer <- arguments[1]
data <- read.csv(arguments[2], check.names = FALSE)
alpha <- 0.01

as_factors <- function(table) as.data.frame(lapply(table, factor))
bn_matrix <- function(found) bnlearn::amat(found)
cp_matrix <- function(found) as(found, "matrix") != 0  # [i, j]: i --> j, both ways for a line

call <- switch(peer,
  "bnlearn PC" = {
    codes <- as_factors(data)
    function() bn_matrix(bnlearn::pc.stable(codes, test = "x2", alpha = alpha, max.sx = 2))
  },
  "bnlearn hc" = {
    codes <- as_factors(data)
    function() bn_matrix(bnlearn::cpdag(bnlearn::hc(codes, score = "bde")))
  },
  "bnlearn MMHC" = {
    codes <- as_factors(data)
    function() bn_matrix(bnlearn::cpdag(bnlearn::mmhc(codes)))
  },
  "pcalg PC" = {
    numbers <- as.matrix(data)
    function() {
      known <- list(C = cor(numbers), n = nrow(numbers))
      found <- pcalg::pc(known, indepTest = pcalg::gaussCItest, alpha = alpha,
                         labels = colnames(numbers), skel.method = "stable.fast")
      cp_matrix(found@graph)
    }
  },
  "pcalg GES" = {
    numbers <- as.matrix(data)
    function() {
      found <- pcalg::ges(new("GaussL0penObsScore", numbers))
      as(found$essgraph, "matrix") * 1
    }
  },
  stop("there is no peer ", peer))

cat("ready\n")
seconds <- c()
while (length(seconds) < 5 && sum(seconds) < 1) {
  spent <- system.time(matrix <- call())
  seconds <- c(seconds, sum(spent[c("user.self", "sys.self")]))
}
con <- file(arguments[3], "w")
writeLines(paste(seconds, collapse = ","), con)
write.table(matrix * 1, con, sep = ",", row.names = FALSE, col.names = FALSE)
close(con)
