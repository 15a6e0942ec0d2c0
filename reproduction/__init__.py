"""The paper's experiments, run again with deciban: ``python -m reproduction``.

A program beside the package, not a part of it. It uses deciban's public names only, and needs
``pip install -e '.[all]' -r reproduction/requirements.txt`` (``make setup`` does this).
"""
