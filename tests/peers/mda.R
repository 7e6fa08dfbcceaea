# Mixture discriminant analysis of R's package mda, written to mda.json beside this file: Rscript tests/peers/mda.R
suppressPackageStartupMessages(library(mda))

json <- function(x) {
  if (is.list(x)) return(paste0("{", paste0('"', names(x), '":', vapply(x, json, ""), collapse = ","), "}"))
  if (is.matrix(x)) return(paste0("[", paste(apply(x, 1, json), collapse = ","), "]"))
  shown <- if (is.character(x)) paste0('"', x, '"') else formatC(x, digits = 10, format = "g", width = 1)
  if (length(x) == 1) shown else paste0("[", paste(shown, collapse = ","), "]")
}

# Responsibilities at convergence, and what follows from them: probabilities of the classes, errors, deviance.
numbers <- function(subclasses) {
  set.seed(1)
  fit <- mda(Species ~ ., iris, subclasses = subclasses, tries = 5, iter = 5000, tol = 1e-13)
  list(weights = lapply(fit$weights, unname), posterior = unname(predict(fit, iris, type = "posterior")),
       errors = sum(predict(fit, iris) != iris$Species), deviance = fit$deviance)
}

path <- if (file.exists("tests/peers")) "tests/peers/mda.json" else "mda.json"
cat(json(list(versions = list(R = as.character(getRversion()), mda = as.character(packageVersion("mda"))),
              iris = unname(as.matrix(iris[, 1:4])), two = numbers(2), three = numbers(3))), "\n", file = path, sep = "")
