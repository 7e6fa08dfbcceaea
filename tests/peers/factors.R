# Factor analyses by stats::factanal and lavaan, written to factors.json beside this file: Rscript tests/peers/factors.R
suppressPackageStartupMessages(library(lavaan))

json <- function(x) {
  if (is.list(x)) return(paste0("{", paste0('"', names(x), '":', vapply(x, json, ""), collapse = ","), "}"))
  if (is.matrix(x)) return(paste0("[", paste(apply(x, 1, json), collapse = ","), "]"))
  shown <- if (is.character(x)) paste0('"', x, '"') else ifelse(is.na(x), "null", formatC(x, digits = 15, format = "g", width = 1))
  if (length(x) == 1) shown else paste0("[", paste(shown, collapse = ","), "]")
}

numbers <- function(x) unname(as.matrix(x))
school <- HolzingerSwineford1939[, paste0("x", 1:9)]
air <- scale(airquality[, c("Ozone", "Solar.R", "Wind", "Temp")], center = FALSE, scale = c(30, 90, 3.5, 10))
weights <- rep(c(1, 2, 3), length.out = nrow(school))

factors <- function(k, rotation) {
  turns <- if (rotation == "varimax") list(eps = 1e-15)
  fit <- factanal(school, k, rotation = rotation, lower = 1e-6, control = list(nstart = 5, opt = list(factr = 1), rotate = turns))
  turned <- fit$rotmat
  list(loadings = numbers(unclass(fit$loadings)), uniquenesses = unname(fit$uniquenesses), chi2 = unname(fit$STATISTIC),
       dof = unname(fit$dof), p_value = unname(fit$PVAL),
       correlations = if (rotation == "promax") numbers(solve(t(turned) %*% turned)) else diag(k))
}
by_factanal <- list(two_none = factors(2, "none"), three_varimax = factors(3, "varimax"), three_promax = factors(3, "promax"),
  scores = numbers(factanal(school, 3, rotation = "varimax", scores = "regression", lower = 1e-6,
                            control = list(nstart = 5, opt = list(factr = 1), rotate = list(eps = 1e-15)))$scores[1:20, ]),
  weighted = unname(factanal(covmat = cov.wt(school, weights / sum(weights), method = "ML"), factors = 3, rotation = "none",
                             lower = 1e-6, control = list(nstart = 5, opt = list(factr = 1)))$uniquenesses))

explored <- function(rotation) {
  fit <- efa(school, nfactors = 3, rotation = rotation,
             rotation.args = list(rstarts = 30, geomin.epsilon = 0.01, row.weights = "none", order.lv.by = "none"), output = "lavaan")
  shown <- inspect(fit, "std")
  list(log_likelihood = as.numeric(logLik(fit)), loadings = numbers(unclass(shown$lambda)), correlations = numbers(unclass(shown$psi)))
}
full <- cfa("f =~ Ozone + Solar.R + Wind + Temp", data = air, missing = "fiml", std.lv = TRUE)
by_lavaan <- list(oblimin = explored("oblimin"), geomin = explored("geomin"),
  air = list(log_likelihood = as.numeric(logLik(full)), loadings = unname(inspect(full, "est")$lambda[, 1]),
             noise = unname(diag(inspect(full, "est")$theta)), means = unname(inspect(full, "est")$nu[, 1])))

writeLines(json(list(
  versions = list(R = as.character(getRversion()), lavaan = as.character(packageVersion("lavaan"))),
  tables = list(school = numbers(school), weights = weights, air = numbers(air)),
  factanal = by_factanal, lavaan = by_lavaan)), "tests/peers/factors.json")
