"""What gnn-run refuses: the exit status, one line that names the fault and the way out, and old files left as they were."""

import os
import random
import resource
import unittest

from support import TestCase, assemble, encode, main, regression


class Files(TestCase):
    """safetensors files that cannot be used."""

    def bad(self, contents, *parts, name="bad.safetensors"):
        path = self.write(name, contents)
        self.refused(self.train("--epochs", "1", data=path, status=1), name, *parts)

    def changed(self, **tensors):
        return encode({**regression(), **tensors})

    def test_missing(self):
        self.refused(self.train(data="nothing.safetensors", status=1), "cannot open nothing.safetensors", "No such file")

    def test_folder(self):
        self.refused(self.train(data=self.folder, status=1), "not a regular file")

    def test_empty(self):
        self.bad(b"", "only 0 bytes", "truncated?")

    def test_truncated_header(self):
        self.bad(encode(regression())[:30], "is truncated")

    def test_truncated_data(self):
        self.bad(encode(regression())[:-5], "is truncated", "copy or make it again")

    def test_bytes_at_the_end(self):
        self.bad(encode(regression()) + b"more", "4 bytes at its end belong to no tensor")

    def test_header_length_is_absurd(self):
        self.bad(b"\xff" * 16, "not a safetensors file")

    def test_header_is_no_json(self):
        self.bad(assemble(b"{]", b""), "not valid JSON")

    def test_header_is_no_object(self):
        self.bad(assemble(b"[1]", b""), "not a JSON object")

    def test_tensor_listed_twice(self):
        entry = b'"x": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}'
        self.bad(assemble(b"{" + entry + b", " + entry + b"}", b"1"), "lists x twice")

    def test_entry_without_offsets(self):
        self.bad(assemble({"x": {"dtype": "F32", "shape": [1]}}, b"1234"), "tensor x lacks")

    def test_tensors_overlap(self):
        header = {name: {"dtype": "U8", "shape": [4], "data_offsets": [k, k + 4]} for k, name in enumerate("ab")}
        self.bad(assemble(header, b"12345"), "tensors a and b overlap")

    def test_hole(self):
        self.bad(assemble({"a": {"dtype": "U8", "shape": [1], "data_offsets": [3, 4]}}, b"1234"), "3 bytes before tensor a")

    def test_size_and_shape_disagree(self):
        header = {"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}
        self.bad(assemble(header, b"12345678"), "tensor a of type F32 and shape [3] can't have 8 bytes")

    def test_shape_overflows(self):
        header = {"a": {"dtype": "F32", "shape": [2**62, 2**62], "data_offsets": [0, 0]}}
        self.bad(assemble(header, b""), "tensor a")

    def test_negative_shape(self):
        header = {"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}
        self.bad(assemble(header, b"1234"), "tensor a has an impossible shape")

    def test_unknown_type(self):
        header = {"a": {"dtype": "F31", "shape": [1], "data_offsets": [0, 4]}}
        self.bad(assemble(header, b"1234"), "unknown element type F31")

    def test_half_precision(self):
        header = {"x": {"dtype": "F16", "shape": [1, 1], "data_offsets": [0, 2]}}
        self.bad(assemble(header, b"12"), "element type F16", "F32 or F64")

    def test_boolean_is_two(self):
        contents = encode(regression())
        self.bad(contents[:-1] + b"\x02", "BOOL tensor train is 2")

    def test_integers_for_reals(self):
        self.bad(self.changed(x=("I32", [40, 3], [0] * 120)), "x in bad.safetensors holds I32, but x wants reals")

    def test_reals_for_booleans(self):
        self.bad(self.changed(train=("F32", [40], [1] * 40)), "holds F32, but train wants booleans")

    def test_wrong_rank(self):
        self.bad(self.changed(x=("F64", [120], [0] * 120)), "has shape [120], but [n, In] is expected")

    def test_sizes_contradict(self):
        self.bad(self.changed(train=("BOOL", [39], [True] * 39)), "n is 40 in x in bad.safetensors, but 39 in train")

    def test_tensor_is_missing(self):
        contents = regression()
        del contents["y"]
        contents["labels"] = regression()["y"]
        self.bad(encode(contents), "no value for y", "--rename y=NAME", "has labels, train and x")

    def test_sparse_without_shape(self):
        parts = {"x.indptr": ("I32", [2], [0, 1]), "x.indices": ("I32", [1], [0]), "x.values": ("F32", [1], [1])}
        self.bad(encode(parts), "the metadata has no x.shape")

    def test_sparse_column_out_of_range(self):
        parts = {"x.indptr": ("I32", [2], [0, 1]), "x.indices": ("I32", [1], [7]), "x.values": ("F32", [1], [1])}
        self.bad(encode(parts, {"x.shape": "1,3"}), "entry 0 is 7, but there are 3 columns")

    def test_sparse_pointers_fall(self):
        parts = {"x.indptr": ("I32", [3], [0, 1, 0]), "x.indices": ("I32", [1], [0]), "x.values": ("F32", [1], [1])}
        self.bad(encode(parts, {"x.shape": "2,3"}), "x.indptr in bad.safetensors: entry 2 is 0")

    def test_sparse_is_incomplete(self):
        self.bad(encode({"x.values": ("F32", [1], [1])}), "x.indptr or x.indices is not")


    def test_random_damage(self):
        """Whatever bytes are changed, the tool ends with a status of its own: the result or an error."""
        rng, good = random.Random(1), encode(regression(), {"name": "good"})
        for _ in range(60):
            contents = bytearray(good)
            for _ in range(rng.randint(1, 4)):
                contents[rng.randrange(min(len(contents), 400))] = rng.choice(b'0123456789{}[],:" \xff\x00-')
            self.write("damaged.safetensors", bytes(contents))
            self.train("--epochs", "1", "--quiet", data="damaged.safetensors", status=(0, 1))


class Graphs(TestCase):
    def check(self, *arguments, status=1):
        sizes = ("--size", "F=2", "--size", "O=2")
        return self.run_tool("gradcheck", "--entry", "layer", *sizes, *arguments, status=status)

    def file(self, name, text, *parts):
        self.write(name, text)
        self.refused(self.check("--graph", f"g={name}"), name, *parts)

    def test_no_graph(self):
        self.refused(self.check(), "no value for g", "--graph g=FILE")

    def test_number_of_nodes_is_unknown(self):
        ends = {"g.src": ("I32", [1], [0]), "g.dst": ("I32", [1], [1])}
        data = self.write("g.safetensors", encode(ends))
        self.refused(self.check("--data", data), "--size g.nodes=NUMBER", "g.num_nodes")

    def test_half_a_graph(self):
        data = self.write("g.safetensors", encode({"g.src": ("I32", [1], [0])}, {"g.num_nodes": "2"}))
        self.refused(self.check("--data", data), "g.dst is not")

    def test_edge_out_of_range(self):
        for end, dtype in ((5, "I32"), (-1, "I32"), (-1, "I8"), (-7, "I16")):
            ends = {"g.src": ("I32", [1], [0]), "g.dst": (dtype, [1], [end])}
            data = self.write("g.safetensors", encode(ends, {"g.num_nodes": "5"}))
            self.refused(self.check("--data", data), "g", str(end))

    def test_real_indices(self):
        ends = {"g.src": ("F32", [1], [0]), "g.dst": ("I32", [1], [0])}
        data = self.write("g.safetensors", encode(ends, {"g.num_nodes": "5"}))
        self.refused(self.check("--data", data), "g.src in g.safetensors holds F32", "integers")

    def test_metadata_is_no_number(self):
        data = self.write("g.safetensors", encode({}, {"g.num_nodes": "many"}))
        self.refused(self.check("--data", data), "metadata g.num_nodes of g.safetensors is 'many'")

    def test_edge_list_word(self):
        self.file("e.txt", "0 1\n1 x\n", "e.txt:2", "'x' is not an integer")

    def test_edge_list_columns(self):
        self.file("e.txt", "0 1\n1 2 0.5\n", "e.txt:2", "3 numbers here, but 2")

    def test_edge_list_negative(self):
        self.file("e.txt", "0 -1\n", "e.txt:1")

    def test_matrix_market_banner(self):
        self.file("e.mtx", "3 3 1\n1 1\n", "MatrixMarket matrix coordinate")

    def test_matrix_market_truncated(self):
        self.file("e.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 1\n", "ends after 1 of 2 entries")

    def test_matrix_market_range(self):
        self.file("e.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n0 1\n", "e.mtx:3", "count from 1")

    def test_matrix_is_not_square(self):
        self.file("e.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 1\n", "must be square")

    def test_random_graph_spec(self):
        self.refused(self.check("--random", "nodes=4,edges=2,stars", status=2), "'stars' is unknown")
        self.refused(self.check("--random", "nodes=4,edges=200", status=2), "don't fit on 4 nodes")
        self.refused(self.check("--random", "edges=2", status=2), "nodes=NUMBER")


class CommandLine(TestCase):
    def test_missing_model(self):
        self.model = lambda real: "nothing.so"
        self.refused(self.train(status=1), "cannot open the model nothing.so", "gnnc build")

    def test_model_is_no_object(self):
        self.write("text.so", "not an object")
        self.model = lambda real: "text.so"
        self.refused(self.train(status=1), "text.so")

    def test_unknown_entry(self):
        self.refused(self.run_tool("infer", "--entry", "pred", status=1), "no entry point 'pred'", "predict")

    def test_unknown_pair(self):
        result = self.run_tool("gradcheck", "--entry", "predict", status=1)
        self.refused(result, "export vjp predict;", "layer and lossy")

    def test_unknown_command_and_option(self):
        wrong = (("bake",), ("--epochz", "3"), ("--epochs", "none"), ("--epochs", "0"), ("--mode", "least"))
        for words in (*wrong, ("--threads", "1025")):
            result = self.train(*words, status=2)
            self.refused(result, "--help")

    def test_unbound_size(self):
        data = self.write("x.safetensors", encode({"x": ("F64", [3, 2], [0] * 6)}, {"classes": "4", "name": "x"}))
        result = self.run_tool("infer", "--entry", "count", "--data", data, status=1)
        self.refused(result, "nothing says how large n is", "--size n=NUMBER", "metadata (classes) serves")

    def test_size_names_nothing(self):
        result = self.run_tool("infer", "--entry", "count", "--size", "n=classes", status=2)
        self.refused(result, "'classes' is neither a number nor a name in the data's metadata")

    def test_size_contradicts_data(self):
        self.refused(self.train("--size", "In=5", status=1), "In is 5 in --size In=5, but 3 in x in data.safetensors")

    def test_options_that_name_nothing(self):
        for option, value in (("--set", "rate=1"), ("--fill", "z=1"), ("--size", "Hidden=3"), ("--rename", "z=y"), ("--graph", "g=a.txt")):
            self.write("a.txt", "0 1\n")
            self.refused(self.train(option, value, status=2), option, "it has:")

    def test_values_that_do_not_fit(self):
        self.refused(self.train("--set", "lr=fast", status=2), "a number is expected")
        self.refused(self.train("--set", "fail_at=0.5", status=2), "an integer is expected")
        self.refused(self.train("--set", "x=0", status=2), "--fill x=0")
        self.refused(self.train("--set", "lr", status=2), "NAME=VALUE")

    def test_step_without_state(self):
        result = self.run_tool("train", "--step", "count", status=1)
        self.refused(result, "count has no inout argument")

    def test_unknown_scalar(self):
        self.refused(self.train("--stop", "accuracy", status=2), "no scalar result is called 'accuracy'", "loss and noise")

    def test_options_that_exclude_each_other(self):
        self.refused(self.train("--patience", "3", status=2), "--stop")
        self.refused(self.train("--seed", "3", "--seeds", "0..2", status=2), "--seeds")
        self.refused(self.train("--seeds", "5..2", status=2), "0..9")

    def test_f32_gradcheck(self):
        result = self.run_tool("gradcheck", "--entry", "layer", real="f32", status=1)
        self.refused(result, "--real f32", "--real f64")

    def test_parameters_are_missing(self):
        result = self.run_tool("infer", "--entry", "predict", "--data", self.data, status=1)
        self.refused(result, "no value for p.w and p.b")


class Bench(TestCase):
    def bench(self, *arguments, status):
        result = self.run_tool("bench", *arguments, status=status)
        self.assertEqual(result.stdout, "")
        return result

    def test_no_entry(self):
        self.refused(self.bench("--size", "n=3", status=2), "entry is required", "gnn-run bench --help")

    def test_unknown_entry(self):
        self.refused(self.bench("counts", "--size", "n=3", status=1), "counts", "count")

    def test_missing_data(self):
        self.refused(self.bench("predict", status=1), "no value for")

    def test_numbers_of_calls(self):
        for option, value in (("--repeat", "0"), ("--repeat", "some"), ("--warmup", "-1")):
            self.refused(self.bench("count", "--size", "n=3", option, value, status=2), option)

    def test_nowhere_to_write(self):
        self.refused(self.bench("count", "--size", "n=3", "--json", "nowhere/out", status=1), "nowhere does not exist")


class Outputs(TestCase):
    """Whatever fails, what was there stays."""

    def kept(self, *arguments, name="c.safetensors", status=1, **options):
        self.write(name, "precious")
        result = self.train("--checkpoint", name, *arguments, status=status, **options)
        self.assertEqual(self.path(name).read_text(), "precious")
        self.assertEqual([path.name for path in self.folder.glob("*.tmp*")], [])
        return result

    def test_step_fails(self):
        self.refused(self.kept("--set", "fail_at=3", "--epochs", "10"), "train_step: the step was told to fail here")

    def test_training_diverges(self):
        self.refused(self.kept("--set", "lr=1e200", "--epochs", "10"), "loss is", "diverged")

    def test_disk_is_full(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

        result = self.kept("--epochs", "1", preexec_fn=limit)
        self.refused(result, "cannot write c.safetensors", "is unchanged")

    def test_resume_file_is_damaged(self):
        self.write("r.safetensors", b"1234567")
        self.refused(self.kept("--resume", "r.safetensors"), "r.safetensors")

    def test_resume_is_of_another_model(self):
        self.write("r.safetensors", encode({"q": ("F32", [1], [0])}))
        self.refused(self.kept("--resume", "r.safetensors"), "r.safetensors has no p.w", "another model")

    def test_resume_has_other_sizes(self):
        parameters = {"p.w": ("F64", [9, 2], [0] * 18), "p.b": ("F64", [2], [0, 0]), "opt.step": ("I64", [], [3])}
        self.write("r.safetensors", encode(parameters))
        self.refused(self.kept("--resume", "r.safetensors"), "In is 9 in p.w in r.safetensors, but 3 in x")

    def test_resume_is_finished(self):
        self.train("--epochs", "5", "--checkpoint", "r.safetensors")
        self.refused(self.train("--epochs", "5", "--resume", "r.safetensors", status=2), "at epoch 5 already")

    def test_folder_is_missing_before_the_run(self):
        for option in ("--checkpoint", "--json"):
            result = self.train(option, "nowhere/out", status=1)
            self.refused(result, "nowhere does not exist", "mkdir")
            self.assertEqual(result.stdout, "")

    def test_output_is_a_folder(self):
        result = self.run_tool("infer", "--entry", "count", "--size", "n=3", "-o", self.folder, status=1)
        self.refused(result, "it is a directory")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_folder_is_read_only(self):
        self.folder.chmod(0o500)
        self.addCleanup(self.folder.chmod, 0o700)
        self.refused(self.train("--checkpoint", "c.safetensors", status=1), "no permission")


if __name__ == "__main__":
    main()
