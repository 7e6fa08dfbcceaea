# Numbers of R packages on small tables, written to peers.json beside this file: Rscript tests/peers/peers.R
# Every iterative method runs to (nearly) machine precision, so that the tests can ask for many digits.
suppressPackageStartupMessages({
  library(glmnet); library(pls); library(vegan); library(MASS); library(ca); library(ade4); library(mda)
  library(class); library(survival); library(jsonlite); library(loo)
})

numbers <- function(x) unname(as.matrix(x))
standardised <- function(x) { x <- scale(as.matrix(x), scale = FALSE); sweep(x, 2, sqrt(colMeans(x^2)), "/") }

cars <- as.matrix(mtcars)
flowers <- as.matrix(iris[, 1:4])
two <- iris$Species != "setosa"
data(yarn); data(dune); data(dune.env); data(smoke)
nir <- yarn$NIR[, seq(1, 268, by = 20)]
env <- cbind(A1 = dune.env$A1, Moisture = as.numeric(as.character(dune.env$Moisture)),
             Manure = as.numeric(as.character(dune.env$Manure)))
sick <- lung[complete.cases(lung[, c("time", "status", "age", "ph.ecog", "wt.loss")]), ][1:40, ]
p_values <- c(1e-5, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.324, 0.4262, 0.5719, 0.6528, 0.759, 1)
ratings <- cbind(a = c(.81, .72, .90, .66, .75, .88, .69, .79), b = c(.78, .70, .91, .60, .735, .80, .65, .765),
                 c = c(.84, .75, .92, .70, .71, .90, .72, .83))

tables <- list(cars = numbers(cars), iris = numbers(flowers), species = as.integer(iris$Species), nir = numbers(nir),
  density = yarn$density, dune = numbers(dune), env = numbers(env), smoke = numbers(smoke),
  lung = numbers(sick[, c("time", "status", "age", "ph.ecog", "wt.loss")]), p_values = p_values, ratings = numbers(ratings))

# glmnet: penalised likelihood over n
X <- standardised(cars[, -1]); mpg <- cars[, 1]
lambdas <- c(3, 1, 0.3, 0.05)
lasso <- glmnet(X, mpg, lambda = lambdas, standardize = FALSE, thresh = 1e-22, maxit = 1e7)
Z <- standardised(flowers[two, ]); virginica <- as.integer(iris$Species[two] == "virginica")
log_lambdas <- c(0.2, 0.05, 0.01)
logistic <- glmnet(Z, virginica, family = "binomial", lambda = log_lambdas, standardize = FALSE, thresh = 1e-18, maxit = 1e7)
weights <- rep(c(1, 2, 3, 4), 8)
weighted <- glmnet(X, mpg, weights = weights, lambda = 0.5, standardize = FALSE, thresh = 1e-22, maxit = 1e7)
by_glmnet <- list(
  lambdas = lambdas, lasso = numbers(coef(lasso)), lambda_max = glmnet(X, mpg, standardize = FALSE)$lambda[1],
  log_lambdas = log_lambdas, logistic = numbers(coef(logistic)),
  log_lambda_max = glmnet(Z, virginica, family = "binomial", standardize = FALSE)$lambda[1],
  weights = weights, weighted = numbers(coef(weighted)))

# pls: one target by four algorithms, three targets by three
one <- function(method) {
  fit <- plsr(yarn$density ~ nir, ncomp = 5, method = method)
  list(coef = sapply(1:5, function(k) coef(fit, ncomp = k)), explained = unname(explvar(fit)))
}
Y <- scale(cars[, c("mpg", "hp", "qsec")]); W <- scale(cars[, c("cyl", "disp", "drat", "wt", "gear", "carb")])
three <- function(method) numbers(coef(plsr(Y ~ W, ncomp = 3, method = method))[, , 1])
scores <- plsr(yarn$density ~ nir, ncomp = 3, method = "oscorespls")
by_pls <- list(
  one = sapply(c("kernelpls", "widekernelpls", "simpls", "oscorespls"), one, simplify = FALSE),
  three = sapply(c("kernelpls", "simpls", "oscorespls"), three, simplify = FALSE),
  scores = numbers(unclass(scores$scores)), loadings = numbers(unclass(scores$loadings)),
  press = unname(plsr(yarn$density ~ nir, ncomp = 5, validation = "LOO")$validation$PRESS[1, ]))

# correspondence analysis
coa <- cca(dune); constrained <- cca(dune ~ ., as.data.frame(env)); by_ca <- ca(smoke)
counts <- list(
  cca_eig = unname(coa$CA$eig), cca_inertia = coa$tot.chi,
  cca_sites = numbers(coa$CA$u[, 1:2]), cca_species = numbers(coa$CA$v[, 1:2]),
  constrained_eig = unname(constrained$CCA$eig), constrained_sites = numbers(constrained$CCA$u),
  constrained_biplot = numbers(constrained$CCA$biplot),
  ca_sv = by_ca$sv, ca_rows = numbers(by_ca$rowcoord), ca_columns = numbers(by_ca$colcoord),
  coa_eig = dudi.coa(as.data.frame(dune), scannf = FALSE, nf = 2)$eig)

# discriminant analysis
rows <- seq(1, 150, by = 7)
fit <- lda(flowers, iris$Species); flexible <- fda(Species ~ ., data = iris)
discriminants <- list(
  rows = rows, lda_scaling = numbers(fit$scaling), fda_values = unname(flexible$values),
  fda_posterior = numbers(predict(flexible, iris[rows, ], type = "posterior")),
  lda_loo_accuracy = mean(lda(flowers, iris$Species, CV = TRUE)$class == iris$Species),
  knn_loo_accuracy = sapply(c(1, 3), function(k) mean(knn.cv(scale(cars[, 3:7]), factor(cars[, "am"]), k = k) == cars[, "am"])),
  mahalanobis = mahalanobis(colMeans(flowers[51:100, ]), colMeans(flowers[101:150, ]),
                            (49 * cov(flowers[51:100, ]) + 49 * cov(flowers[101:150, ])) / 98))

# principal components and canonical correlations
pr <- prcomp(cars[, 3:7], scale. = FALSE); cc <- cancor(cars[, c(3, 4, 6)], cars[, c(1, 7)])
components <- list(
  prcomp_sdev = pr$sdev, prcomp_rotation = numbers(pr$rotation), cancor = cc$cor)

# scores of columns, p-values
tests <- lapply(1:4, function(j) {
  x <- flowers[, j]; f <- iris$Species
  welch <- t.test(x[f == "versicolor"], x[f == "virginica"]); anova <- oneway.test(x ~ f, var.equal = TRUE)
  list(welch = unname(welch$statistic), welch_p = welch$p.value, anova = unname(anova$statistic), anova_p = anova$p.value,
       ks = suppressWarnings(unname(ks.test(x[f == "versicolor"], x[f == "virginica"])$statistic)))
})
column <- function(name) sapply(tests, `[[`, name)
correlations <- lapply(2:11, function(j) { found <- cor.test(cars[, j], mpg); c(found$estimate, found$p.value) })
votes <- cars[, c("cyl", "gear", "carb")]; am <- cars[, "am"]
chi <- lapply(1:3, function(j) { found <- chisq.test(tapply(votes[, j], am, sum), p = table(am) / 32); c(found$statistic, found$p.value) })
information <- sapply(1:3, function(j) {
  cells <- table(votes[, j], am)
  diversity(rowSums(cells)) + diversity(colSums(cells)) - diversity(as.vector(cells))
})
univariate <- list(
  welch = column("welch"), welch_p = column("welch_p"), anova = column("anova"), anova_p = column("anova_p"), ks = column("ks"),
  pearson = sapply(correlations, `[`, 1), pearson_p = sapply(correlations, `[`, 2),
  spearman = sapply(2:11, function(j) cor(cars[, j], mpg, method = "spearman")),
  chi2 = unname(sapply(chi, `[`, 1)), chi2_p = unname(sapply(chi, `[`, 2)), mutual_information = information,
  variance = unname(apply(cars, 2, var)),
  adjusted = sapply(c("BH", "holm", "bonferroni"), function(m) p.adjust(p_values, m), simplify = FALSE),
  friedman = { found <- friedman.test(ratings); c(unname(found$statistic), found$p.value) },
  wilcoxon = wilcox.test(ratings[, 1], ratings[, 2], paired = TRUE, exact = TRUE)$p.value)

# likelihoods that boosting lowers, and the models that it comes to
f <- 0.02 * (sick$age - 60) + 0.3 * sick$ph.ecog
time <- Surv(sick$time, sick$status)
aft <- function(dist) {
  found <- survreg(time ~ 1, dist = dist, control = survreg.control(rel.tolerance = 1e-14, maxiter = 200))
  list(intercept = unname(coef(found)), scale = found$scale, log_likelihood = found$loglik[1])
}
poisson <- glm(carb ~ wt + qsec, family = poisson, data = mtcars, epsilon = 1e-14)
binomial <- glm(vs ~ wt + disp, family = binomial, data = mtcars, epsilon = 1e-14)
likelihoods <- list(
  f = f, cox = coxph(time ~ offset(f), ties = "breslow")$loglik[1],
  poisson = unname(coef(poisson)),
  binomial = unname(coef(binomial)),
  least_squares = unname(coef(lm(mpg ~ wt + qsec + hp, data = mtcars))),
  weibull = aft("weibull"), lognormal = aft("lognormal"), loglogistic = aft("loglogistic"))

# clusterings compared, and predictive criteria of one matrix of log-likelihoods (arviz_numbers.py makes the same)
first <- as.integer(iris$Species); second <- cut(iris$Petal.Length, c(0, 2, 4.5, 5.2, 8), labels = FALSE)
compared <- sapply(c("vi", "nmi", "rand", "adjusted.rand"), function(name) igraph::compare(first, second, method = name),
                   simplify = FALSE)
draws <- 0.2 + 0.4 * qnorm((1:1000 * (sqrt(5) - 1) / 2) %% 1)
rows <- c(-2, -1.5, -1, -0.5, 0, 0.25, 0.5, 1, 1.5, 3, 5, 8)
log_lik <- sapply(rows, function(x) dnorm(x, draws, 0.8, log = TRUE))
chains <- aperm(array(log_lik, c(250, 4, 12)), c(1, 2, 3))
left_out <- suppressWarnings(loo(log_lik, r_eff = rep(0.7, 12))); information <- suppressWarnings(waic(log_lik))
criteria <- list(loo_i = -unname(left_out$pointwise[, "elpd_loo"]), p_loo = left_out$estimates["p_loo", 1],
  pareto_k = left_out$diagnostics$pareto_k, waic_i = -unname(information$pointwise[, "elpd_waic"]),
  p_waic = information$estimates["p_waic", 1], r_eff = unname(relative_eff(exp(chains))))

versions <- sapply(c("glmnet", "pls", "vegan", "MASS", "ca", "ade4", "mda", "class", "survival", "igraph", "loo"),
                   function(name) as.character(packageVersion(name)), simplify = FALSE)
folder <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
write_json(list(versions = c(list(R = as.character(getRversion())), versions), tables = tables, glmnet = by_glmnet, pls = by_pls,
                counts = counts, discriminants = discriminants, components = components, univariate = univariate,
                likelihoods = likelihoods, clusterings = compared, criteria = criteria),
           file.path(folder, "peers.json"), digits = NA, auto_unbox = TRUE, na = "null")
