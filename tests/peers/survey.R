# Answers of 237 students (MASS::survey, Venables and Ripley), some of them missing, and what R packages make of them,
# written to survey.json beside this file: Rscript tests/peers/survey.R VOTES, where VOTES has a line of 16 letters y, n
# or ? for each member of the US Congress of 1984 (UCI, house votes), which survey_numbers.py reads.
suppressPackageStartupMessages({ library(e1071); library(flexmix); library(mclust); library(lavaan) })

json <- function(x) {
  if (is.list(x)) return(paste0("{", paste0('"', names(x), '":', vapply(x, json, ""), collapse = ","), "}"))
  if (is.matrix(x)) return(paste0("[", paste(apply(x, 1, json), collapse = ","), "]"))
  shown <- if (is.character(x)) ifelse(is.na(x), "null", paste0('"', x, '"')) else
    ifelse(is.na(x), "null", formatC(x, digits = 12, format = "g", width = 1))
  if (length(x) == 1) shown else paste0("[", paste(shown, collapse = ","), "]")
}

set.seed(1)
survey <- MASS::survey
answers <- sapply(survey[, c("Sex", "W.Hnd", "Fold", "Clap", "Exer", "Smoke", "M.I")], as.character)
measured <- as.matrix(survey[, c("Wr.Hnd", "NW.Hnd", "Height", "Pulse", "Age")])

binary <- with(survey, cbind(Sex == "Male", Fold == "R on L", Clap == "Right", Exer == "Freq", Smoke != "Never", M.I == "Metric"))
binary <- binary[complete.cases(binary), ] + 0
by_lca <- function(k) {
  fits <- lapply(1:20, function(i) lca(binary, k, niter = 5000))
  best <- fits[[which.max(sapply(fits, function(fit) fit$logl))]]
  order <- order(-best$classprob)
  list(log_likelihood = best$logl, bic = best$bic, sizes = unname(best$classprob[order]), probabilities = unname(best$p[order, ]))
}
by_flexmix <- function(k) {
  fit <- stepFlexmix(binary ~ 1, k = k, nrep = 20, drop = FALSE, verbose = FALSE, model = FLXMCmvbinary(),
                     control = list(minprior = 0, tolerance = 1e-14, iter.max = 20000))
  fit <- getModel(fit, which = 1)
  order <- order(-prior(fit))
  list(log_likelihood = as.numeric(logLik(fit)), parameters = attr(logLik(fit), "df"), sizes = unname(prior(fit)[order]),
       probabilities = unname(t(parameters(fit))[order, ]))
}
complete <- measured[complete.cases(measured[, 1:4]), 1:4]
by_mclust <- function(k, model) {
  fit <- Mclust(complete, G = k, modelNames = model, verbose = FALSE, control = emControl(tol = c(1e-14, 1e-14), itmax = 10000))
  order <- order(-fit$parameters$pro)
  list(log_likelihood = fit$loglik, parameters = fit$df, sizes = unname(fit$parameters$pro[order]),
       means = unname(t(fit$parameters$mean)[order, ]),
       variances = unname(t(apply(fit$parameters$variance$sigma, 3, diag))[order, ]))
}
scaled <- data.frame(scale(measured, center = FALSE, scale = c(2, 2, 10, 12, 6)))
full <- cfa("f =~ Wr.Hnd + NW.Hnd + Height + Pulse + Age", data = scaled, missing = "fiml", std.lv = TRUE)
shown <- subset(standardizedSolution(full), op == "=~")
school <- HolzingerSwineford1939[, paste0("x", 1:9)]
explored <- function(rotation) {
  fit <- efa(school, nfactors = 3, rotation = rotation, output = "lavaan", rotation.args = list(rstarts = 30,
             geomin.epsilon = 0.01, row.weights = if (rotation == "varimax") "kaiser" else "none", order.lv.by = "none"))
  std <- subset(standardizedSolution(fit), op == "=~")
  list(loadings = matrix(std$est.std, 9), errors = matrix(std$se, 9))
}
found <- list(
  versions = sapply(c("e1071", "flexmix", "mclust", "lavaan", "MASS"), function(name) as.character(packageVersion(name)), simplify = FALSE),
  tables = list(answers = unname(answers), measured = unname(measured), votes = readLines(commandArgs(trailingOnly = TRUE)[1])),
  lca = list(two = by_lca(2)), flexmix = list(two = by_flexmix(2)),
  mclust = list(EEI_2 = by_mclust(2, "EEI"), VVI_2 = by_mclust(2, "VVI")),
  lavaan = list(log_likelihood = as.numeric(logLik(full)), loadings = shown$est.std, errors = shown$se,
                means = unname(inspect(full, "est")$nu[, 1]) * c(2, 2, 10, 12, 6)),
  school = list(varimax = explored("varimax"), oblimin = explored("oblimin"), geomin = explored("geomin")))
writeLines(json(found), "tests/peers/survey.json")
