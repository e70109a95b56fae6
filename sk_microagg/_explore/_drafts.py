"""Files that appear together, once all of them are complete."""

import os
from pathlib import Path

from sk_microagg._utils._writing import PRIVATE_FOLDER, remove_folder

# Where the release is named among the arguments of `anonymize`.
RELEASE = 2


class Drafts:
    """The files that a command writes, in a folder of their own until they are published.

    Parameters
    ----------
    arguments : list of str
        The arguments of `anonymize`.

    folder : str
        A new folder, next to the files.

    Attributes
    ----------
    arguments : list of str
        The same arguments, for files in the folder.
    """

    def __init__(self, arguments, folder):
        self._folder = Path(folder)
        self._folder.mkdir(PRIVATE_FOLDER)
        places = [RELEASE]
        if "--report" in arguments:
            places.append(arguments.index("--report") + 1)
        self._targets = [Path(arguments[place]) for place in places]
        self.arguments = list(arguments)
        for place, target in zip(places, self._targets, strict=True):
            self.arguments[place] = str(self._folder / target.name)

    def publish(self):
        """Move the files to where they belong."""
        for target in self._targets:
            os.replace(self._folder / target.name, target)

    def hidden(self, message):
        """Return a message whose text names the files, and not where their drafts are."""
        return {**message, "text": message["text"].replace(f"{self._folder}{os.sep}", "")}

    def remove(self):
        """Remove the folder, and what is left in it."""
        remove_folder(self._folder)
