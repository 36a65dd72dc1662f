# SPDX-License-Identifier: Apache-2.0
"""Calls of scikit-learn that take tensors with array API dispatch: data for test_sklearn.py, no tests.

Of `TENSORS` the result is a tensor, of `NUMBERS` a float of Python. Counts and means of bools and integers are computed
in the default dtype, float32, as with PyTorch: hence the tolerance of `test_sklearn.py`.
"""

import numpy as np

random = np.random.default_rng(1)
_x = random.standard_normal((40, 6))
_scores = random.uniform(0, 1, 40)
OPERANDS = {
    "X": _x,
    "P": np.abs(_x),
    "labels": (_x[:, 0] + _x[:, 1] > 0).astype("i8"),
    "other": (_x[:, 0] > 0.2).astype("i8"),
    "targets": _x @ random.standard_normal(6),
    "scores": _scores,
    "probabilities": np.stack([1 - _scores, _scores], 1),
    "classes": np.array([0, 1]),
}

TENSORS = [
    "preprocessing.StandardScaler().fit_transform(X)",
    "preprocessing.MinMaxScaler().fit_transform(X)",
    "preprocessing.MaxAbsScaler().fit_transform(X)",
    "preprocessing.RobustScaler().fit_transform(X)",
    "preprocessing.Normalizer().fit_transform(X)",
    'preprocessing.Normalizer(norm="l1").fit_transform(X)',
    'preprocessing.Normalizer(norm="max").fit_transform(X)',
    "preprocessing.Binarizer(threshold=0.3).fit_transform(X)",
    "preprocessing.KernelCenterer().fit_transform(X @ X.T)",
    "preprocessing.PolynomialFeatures(2).fit_transform(X)",
    "preprocessing.LabelEncoder().fit_transform(labels)",
    "preprocessing.LabelBinarizer().fit_transform(labels)",
    "preprocessing.PowerTransformer().fit_transform(X)",
    "preprocessing.normalize(X)",
    "preprocessing.minmax_scale(X)",
    "metrics.confusion_matrix(labels, other)",
    "metrics.multilabel_confusion_matrix(labels, other)",
    "metrics.precision_recall_curve(labels, scores)[0]",
    "metrics.roc_curve(labels, scores)[0]",
    "metrics.det_curve(labels, scores)[0]",
    "metrics.pairwise.cosine_similarity(X)",
    "metrics.pairwise.cosine_distances(X)",
    "metrics.pairwise.euclidean_distances(X)",
    "metrics.pairwise.linear_kernel(X)",
    "metrics.pairwise.polynomial_kernel(X)",
    "metrics.pairwise.rbf_kernel(X)",
    "metrics.pairwise.sigmoid_kernel(X)",
    "metrics.pairwise.laplacian_kernel(X)",
    "metrics.pairwise.manhattan_distances(X)",
    "metrics.pairwise.paired_cosine_distances(X, P)",
    "metrics.pairwise.paired_euclidean_distances(X, P)",
    "metrics.pairwise.additive_chi2_kernel(P)",
    "metrics.pairwise.chi2_kernel(P)",
    "linear_model.LinearRegression().fit(X, targets).predict(X)",
    "linear_model.LogisticRegression().fit(X, labels).predict(X)",
    "naive_bayes.GaussianNB().fit(X, labels).predict(X)",
    "naive_bayes.GaussianNB().fit(X, labels).predict_proba(X)",
    "model_selection.train_test_split(X, random_state=0)[0]",
    "pipeline.make_pipeline(preprocessing.StandardScaler(), preprocessing.MinMaxScaler()).fit_transform(X)",
    "feature_selection.f_regression(X, targets)[0]",
    "feature_selection.SelectKBest(k=2).fit_transform(X, labels)",
    "utils.resample(X, random_state=0)",
    "utils.extmath.softmax(X)",
    "abs(decomposition.PCA(2).fit_transform(X))",
    'abs(decomposition.PCA(2, svd_solver="covariance_eigh").fit_transform(X))',
    'linear_model.Ridge(solver="svd").fit(X, targets).predict(X)',
    "linear_model.RidgeCV().fit(X, targets).predict(X)",
    "discriminant_analysis.LinearDiscriminantAnalysis().fit(X, labels).predict(X)",
    "utils.extmath.randomized_svd(X, 2, random_state=0)[1]",
]

NUMBERS = [
    "metrics.accuracy_score(labels, other)",
    "metrics.zero_one_loss(labels, other)",
    "metrics.f1_score(labels, other)",
    "metrics.precision_score(labels, other)",
    "metrics.recall_score(labels, other)",
    "metrics.jaccard_score(labels, other)",
    "metrics.hamming_loss(labels, other)",
    "metrics.roc_auc_score(labels, scores)",
    "metrics.average_precision_score(labels, scores)",
    "metrics.brier_score_loss(labels, scores)",
    "metrics.log_loss(labels, probabilities)",
    "metrics.mean_squared_error(targets, scores)",
    "metrics.mean_absolute_error(targets, scores)",
    "metrics.median_absolute_error(targets, scores)",
    "metrics.max_error(targets, scores)",
    "metrics.r2_score(targets, scores)",
    "metrics.explained_variance_score(targets, scores)",
    "metrics.mean_pinball_loss(targets, scores)",
    "metrics.mean_tweedie_deviance(P[:, 0], P[:, 1])",
    "metrics.d2_log_loss_score(labels, probabilities)",
    "metrics.balanced_accuracy_score(labels, other)",
    "metrics.cohen_kappa_score(labels, other)",
]
