# Latent classes by e1071 and flexmix, latent profiles by mclust, written to classes.json beside this file:
# Rscript tests/peers/classes.R VOTES, where VOTES has a line of 16 zeros and ones for each member of KEEL's housevotes.
suppressPackageStartupMessages({ library(e1071); library(flexmix); library(mclust) })

json <- function(x) {
  if (is.list(x)) return(paste0("{", paste0('"', names(x), '":', vapply(x, json, ""), collapse = ","), "}"))
  if (is.matrix(x)) return(paste0("[", paste(apply(x, 1, json), collapse = ","), "]"))
  shown <- if (is.character(x)) paste0('"', x, '"') else ifelse(is.na(x), "null", formatC(x, digits = 12, format = "g", width = 1))
  if (length(x) == 1) shown else paste0("[", paste(shown, collapse = ","), "]")
}

set.seed(1)
lines <- readLines(commandArgs(trailingOnly = TRUE)[1])
votes <- do.call(rbind, lapply(strsplit(lines, ""), as.integer))
data(whiskey)

# Ten items of the votes: with all 16, e1071 would go through 65,536 patterns in every step.
ten <- votes[, c(1:4, 6, 7, 10, 11, 13, 15)]
by_lca <- function(k) {
  fits <- lapply(1:10, function(i) lca(ten, k, niter = 2000))
  best <- fits[[which.max(sapply(fits, function(fit) fit$logl))]]
  order <- order(-best$classprob)
  list(log_likelihood = best$logl, bic = best$bic, sizes = unname(best$classprob[order]), probabilities = unname(best$p[order, ]))
}
by_flexmix <- function(k) {
  fit <- stepFlexmix(whiskey$Incidence ~ 1, weights = whiskey$Freq, k = k, nrep = 20, drop = FALSE, verbose = FALSE,
                     model = FLXMCmvbinary(), control = list(minprior = 0, tolerance = 1e-14, iter.max = 10000))
  fit <- getModel(fit, which = 1)
  order <- order(-prior(fit))
  list(log_likelihood = as.numeric(logLik(fit)), parameters = attr(logLik(fit), "df"), sizes = unname(prior(fit)[order]),
       probabilities = unname(t(parameters(fit))[order, ]))
}
by_mclust <- function(x, k, model) {
  fit <- Mclust(x, G = k, modelNames = model, verbose = FALSE, control = emControl(tol = c(1e-14, 1e-14), itmax = 10000))
  order <- order(-fit$parameters$pro)
  list(log_likelihood = fit$loglik, parameters = fit$df, sizes = unname(fit$parameters$pro[order]),
       means = unname(t(fit$parameters$mean)[order, ]),
       variances = unname(t(apply(fit$parameters$variance$sigma, 3, diag))[order, ]))
}
flowers <- as.matrix(iris[, 1:4])
found <- list(
  versions = sapply(c("e1071", "flexmix", "mclust"), function(name) as.character(packageVersion(name)), simplify = FALSE),
  tables = list(votes = lines, whiskey = apply(whiskey$Incidence, 1, paste, collapse = ""), households = whiskey$Freq,
                iris = unname(flowers)),
  lca = list(two = by_lca(2), three = by_lca(3)), flexmix = list(two = by_flexmix(2), three = by_flexmix(3)),
  mclust = list(VVI_2 = by_mclust(flowers, 2, "VVI"), VVI_3 = by_mclust(flowers, 3, "VVI"),
                EEI_2 = by_mclust(flowers, 2, "EEI"), EEI_3 = by_mclust(flowers, 3, "EEI")))
writeLines(json(found), "tests/peers/classes.json")
