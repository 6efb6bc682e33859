"""Programs drawn at random (random_programs.py): values against numpy, reverse mode against forward mode and central differences, second
order against its own symmetry, each op alone against fused.

    GNNC_RANDOM_FROM=1000 GNNC_RANDOM_LENGTH=25 run.py --build build/release RandomPrograms

draws other and longer programs.
"""

import os

import numpy as np

import harness
import random_programs

GRAPHS = {
    # Nodes 7 and 8 have no edges; nodes 1 and 3 have parallel ones, node 3 self loops.
    "awkward": (9, [0, 0, 1, 1, 3, 3, 4, 6, 5, 2], [1, 1, 2, 2, 3, 3, 0, 0, 6, 5]),
    "hub": (12, [*range(1, 12), 0, 0, 5], [0] * 11 + [1, 2, 6]),
}
FILES, IN_EACH = 4, 4
FROM, LENGTH = int(os.environ.get("GNNC_RANDOM_FROM", 0)), int(os.environ.get("GNNC_RANDOM_LENGTH", 12))


def programs(file):
    graph = GRAPHS["awkward"]
    return [random_programs.Program(FROM + 100 * file + k, graph, LENGTH) for k in range(IN_EACH)]


class RandomPrograms(harness.TestCase):
    def check(self, file):
        drawn = programs(file)
        path = harness.work_folder() / f"random_{FROM}_{LENGTH}_{file}.gnn"
        path.write_text(random_programs.source(drawn))
        flags = ("--real=f64", *(f"-D{name}={size}" for name, size in random_programs.SIZES.items() if file % 2))
        with harness.runtime().context() as context:
            fused, unfused = (context.model(harness.compiled(path, *flags, *more)) for more in ((), ("--no-fuse",)))
            for k, program in enumerate(drawn):
                for name, graph in GRAPHS.items():
                    with self.subTest(program=k, graph=name):
                        program.graph = graph
                        self.check_program(context, fused, unfused, k, program)

    def check_program(self, context, fused, unfused, k, program):
        random = np.random.default_rng(k)
        n, src, dst = program.graph
        graph = context.graph(n, np.array(src, np.int32), np.array(dst, np.int32))
        inputs = program.draw(random)
        tangents, others = ({name: random.standard_normal(np.shape(value)) for name, value in inputs.items()} for _ in range(2))
        suffixed = [{f"{name}_tan": value for name, value in each.items()} for each in (tangents, others)]

        def call(model, entry, *more):
            arguments = {"g": graph, **inputs}
            for each in more:
                arguments.update(each)
            return model.call(context, f"{entry}_{k}", arguments)

        def dot(gradient, direction):
            return sum(float(np.sum(gradient[f"d{name}"] * value)) for name, value in direction.items())

        value, gradient = call(fused, "value"), call(fused, "gradient")
        self.assert_close(value["out"], program.run(inputs), 1e-10, "value")
        self.assert_close(gradient["y"], program.run(inputs), 1e-10, "value beside the gradient")
        alone = call(unfused, "gradient")
        for name in gradient:
            self.assert_close(gradient[name], alone[name], 1e-9, f"{name}, fused")
        slope = float(call(fused, "slope", suffixed[0])["out"])
        scale = max(abs(slope), 1e-2)
        self.assertLess(abs(dot(gradient, tangents) - slope) / scale, 1e-9, "reverse against forward mode")
        errors = []
        for step in (1e-4, 1e-5, 1e-6):
            there, back = (program.run({name: value + sign * step * tangents[name] for name, value in inputs.items()}) for sign in (1, -1))
            errors.append(abs((there - back) / (2 * step) - slope) / scale)
        self.assertLess(min(errors), 1e-6, "forward mode against differences")
        # The second derivative along one direction and another is that along the other and the one.
        one, other = dot(call(fused, "curvature", suffixed[0]), others), dot(call(fused, "curvature", suffixed[1]), tangents)
        self.assertLess(abs(one - other) / max(abs(one), 1e-2), 1e-8, "second order")


harness.add_cases(RandomPrograms, [(f"file {file}", (file,)) for file in range(FILES)], RandomPrograms.check)
