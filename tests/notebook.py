"""Runs every cell of a notebook: notebook.py NOTEBOOK ARCHIVE SOLVED.json

Each exercise runs as it is, with a marker taken away, and solved. Prints
[[cell, what it printed], ...] as JSON; a cell that ends otherwise than it
should is an error.
"""
import json
import re
import sys

import nbformat
from nbclient import NotebookClient

path, archive, solved = sys.argv[1:]
with open(solved, encoding="utf-8") as file:
    solved = json.load(file)
notebook = nbformat.read(path, as_version=4)
nbformat.validate(notebook)

cells = []  # name, source, whether it must fail


def name_of(source):
    number = re.match(r"%%exercise (\d+)\n", source)
    if number:
        return "exercise " + number[1]
    return "bench" if "make bench" in source else source


for cell in notebook.cells:
    if cell.cell_type != "code":
        continue
    name, source = name_of(cell.source), cell.source
    if source.startswith("# Where the course is"):
        cells.append(("SOURCE", source, True))
        source = source.replace('SOURCE = ""', "SOURCE = %r" % archive)
    number = name.split()[-1] if name.startswith("exercise ") else ""
    cells.append((name, source, number != ""))
    if number:
        magic = "%%exercise " + number + "\n"
        cells.append(("no marker", magic + "/* nothing */", True))
        cells.append(("solved " + number, magic + solved[number], False))

book = nbformat.v4.new_notebook(
    cells=[nbformat.v4.new_code_cell(source) for _, source, _ in cells],
    metadata=notebook.metadata)
NotebookClient(book, timeout=3600, allow_errors=True).execute()
said = []
for (name, source, fails), cell in zip(cells, book.cells):
    text, failed = "", False
    for output in cell.outputs:
        if output.output_type == "error":
            failed = True
            own = "%s: %s" % (output.ename, output.evalue)
            lines = output.traceback
            text += (lines[0] if len(lines) == 1 else own) + "\n"
        else:
            text += output.get("text", "")
    if failed != fails:
        sys.exit("%s%s\n%s" % (source, "" if failed else "\ndid not fail", text))
    said.append([name, text])
print(json.dumps(said))
