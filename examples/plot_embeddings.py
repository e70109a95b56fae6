"""
Embeddings that nobody can be found by
======================================

Images and texts are often shared as embeddings: vectors of a few dozen numbers, from which models
learn. Such a vector says as much as the image that it was made of, and often the image can be
reconstructed. Replaced by the mean of k near vectors, it says what k images have in common.
"""

# %%
# Vectors of images
# -----------------
# The images are 1797 handwritten digits, and the embedding is the simplest one, 16 principal
# components. Any other takes its place: vectors of a neural network are columns of numbers, too.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from sk_microagg import MicroAggregator

images, digits = load_digits(return_X_y=True)
train, test, y_train, y_test = train_test_split(
    images, digits, test_size=0.25, stratify=digits, random_state=0
)
embed = PCA(16, random_state=0).fit(train)
vectors, new_vectors = embed.transform(train), embed.transform(test)

# %%
# A release of vectors
# --------------------
# The distances between embeddings mean something as they are, so nothing is scaled. Each vector of
# the release occurs at least k times.
ks = [3, 5, 10, 20, 40]
releases = {k: MicroAggregator(k, scaler=None).fit_transform(vectors) for k in ks}

# %%
# What an intruder sees
# ---------------------
# Decoded, a vector is an image again: at k = 1 that of one writer, and beyond that a mean of
# several, which is still a good example of its digit.
columns = {"image": train, "k = 1": embed.inverse_transform(vectors)}
columns |= {f"k = {k}": embed.inverse_transform(releases[k]) for k in (3, 10, 40)}
figure, axes = plt.subplots(4, len(columns), figsize=(6, 5), layout="constrained")
for panels, (title, pixels) in zip(axes.T, columns.items(), strict=True):
    panels[0].set_title(title)
    for panel, record in zip(panels, [0, 4, 11, 15], strict=True):
        panel.imshow(pixels[record].reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        panel.set(xticks=[], yticks=[])

# %%
# What a model learns
# -------------------
# A model is trained on the release and predicts from original vectors. As a measure of what is
# left of a single image, an intruder who has the vector of one looks for it in the release, and
# guesses among all records that are equally near.


def found(release):
    rows, group, size = np.unique(release, axis=0, return_inverse=True, return_counts=True)
    nearest = NearestNeighbors(n_neighbors=1).fit(rows).kneighbors(vectors)[1][:, 0]
    return np.mean((nearest == group) / size[group])


def accuracy(release):
    return KNeighborsClassifier(1).fit(release, y_train).score(new_vectors, y_test)


releases = {1: vectors} | releases
figure, axes = plt.subplots(layout="constrained")
axes.plot([*releases], [accuracy(releases[k]) for k in releases], "o-", color="black")
axes.plot([*releases], [found(releases[k]) for k in releases], "s--", color="#d55e00")
axes.text(10, 0.85, "accuracy on new images", va="top")
axes.text(4, 0.35, "images found by their vectors", color="#d55e00")
axes.set(xscale="log", xlabel="k", ylabel="share", ylim=(0, 1.02))
axes.set_xticks([*releases], [*releases])
for k in (1, 10, 40):
    print(f"k = {k:2}: accuracy {accuracy(releases[k]):.3f}, found {found(releases[k]):.3f}")

# %%
# Two things are left to do for a real release: the embedding itself was made of the same images,
# so it is shared only if it may be; and if a person has several images, ``unit`` of
# :class:`~sk_microagg.TableAggregator` makes k count people.
plt.show()
