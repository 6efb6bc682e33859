# Writes a program whose lines hold tabs, wide and control characters, and one very long line.
import sys

with open(sys.argv[1], "w", encoding="utf-8") as out:
    out.write("fn f() {\n")
    out.write('\tlet\tx = "Â→界" +\t;\n')
    out.write("  let y = " + "a" * 496 + " +;" + " " * 500 + "\n")
    out.write("  let a = 1 \x01;\n")
    out.write("}\n")
