"""Writes data/flux_dev_costs.json: what casting each of Flux.1-dev's 57 blocks costs, as two published tables say.

    make_flux_dev_costs.py FOLDER

FOLDER holds casting_cost.md (mean squared error of the last hidden state, by block and GGUF type) and casting_loss.md
(mean squared error of a block's own output in fp8_e4m3). A type with an asterisk was patched in from a GGUF file, where
it has a column of its own beside one that was cast on the fly it is called "..._patched" here. The tables' second half,
weighted by parameters, is checked against the first.
"""
import json
import pathlib
import re
import sys

DOUBLE, SINGLE = 339_738_624, 141_557_760  # parameters that a cast reaches in one block
NAMES = {"Q8_0": "q8_0", "Q6_K*": "q6_k", "Q5_1": "q5_1", "Q5_K_S*": "q5_k", "Q4_1": "q4_1", "Q4_1*": "q4_1_patched",
         "Q4_K_S*": "q4_k", "Q4_0*": "q4_0", "Q3_K_S*": "q3_k", "Q2_K*": "q2_k"}


def rows(text):
    for line in text.splitlines():
        if line.startswith("|"):
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(text):
    """The tables whose first column is "-": a header, bits, then a row for each block."""
    found = []
    for row in rows(text):
        if row[0] == "-" and len(row) > 3 and row[1] == "Q8_0":
            found.append([row])
        elif found and row[0] != "-" and not row[0].startswith("-"):
            found[-1].append(row)
    return found


def main():
    folder = pathlib.Path(sys.argv[1])
    costs, weighted = tables((folder / "casting_cost.md").read_text())
    header, bits, blocks = costs[0], costs[1], costs[2:]
    assert bits[0] == "bits" and [int(row[0]) for row in blocks] == list(range(57)), "57 blocks"
    loss = {int(row[0]): row[1].replace(".inf", "inf") for row in rows((folder / "casting_loss.md").read_text())
            if re.fullmatch(r"\d\d", row[0])}
    assert sorted(loss) == list(range(57)), "57 losses"
    layers = []
    for block, row in enumerate(blocks):
        double = block < 19
        types = {}
        for column, name in enumerate(header):
            if name in NAMES:
                cost = float(row[column])
                shown = float(weighted[2 + block][column])
                expected = cost / 2.4 if double else cost
                assert abs(expected - shown) <= 0.00051, (block, name, expected, shown)
                types[NAMES[name]] = {"bits": float(bits[column]), "cost": cost}
        types["fp8_e4m3"] = {"bits": 8.0, "loss": "inf" if loss[block] == "inf" else float(loss[block])}
        name = f"transformer_blocks.{block}" if double else f"single_transformer_blocks.{block - 19}"
        layers.append({"name": name, "parameters": DOUBLE if double else SINGLE, "types": types})
    lines = ",\n".join(json.dumps(layer) for layer in layers)
    target = pathlib.Path(__file__).parent / "data" / "flux_dev_costs.json"
    target.write_text('{"model": "FLUX.1-dev", "layers": [\n' + lines + "\n]}\n")
    print(f"{target}: {len(layers)} layers, {len(types)} types")


main()
