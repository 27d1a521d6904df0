"""Turn the tiny gpt-oss model file into a checkpoint in the layout OpenAI publishes.

usage: make_checkpoint.py MODEL.gguf FOLDER

Writes `config.json`, `generation_config.json`, `model.safetensors` (bfloat16, experts not quantised) and the
tokenizer's files. The weights are those of the GGUF file; nothing is trained. vLLM, SGLang and transformers load the
folder as they load `openai/gpt-oss-20b`.
"""

import json
import re
import sys
from pathlib import Path

import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.torch import save_file

# The first part of a text that byte-pair merges stay within, as tiktoken's o200k vocabularies cut it.
WORD_PATTERN = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
END_OF_TEXT, RETURN, CALL = 199999, 200002, 200012
ORDINARY_TOKENS = 199998


def main() -> None:
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    model = GGUFReader(source)
    field = lambda name: model.fields[name].contents()  # noqa: E731
    tensors = {
        tensor.name: torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy()).float()
        for tensor in model.tensors
    }
    write_weights(tensors, field("gpt-oss.block_count"), folder)
    write_config(field, folder)
    write_tokenizer(field("tokenizer.ggml.tokens"), field("tokenizer.ggml.merges"), folder)


def write_weights(tensors: dict[str, torch.Tensor], layers: int, folder: Path) -> None:
    weights = {
        "model.embed_tokens.weight": tensors["token_embd.weight"],
        "model.norm.weight": tensors["output_norm.weight"],
        "lm_head.weight": tensors["output.weight"],
    }
    for layer in range(layers):
        read = lambda name: tensors[f"blk.{layer}.{name}"]  # noqa: B023, E731
        names = {
            "input_layernorm.weight": "attn_norm.weight",
            "post_attention_layernorm.weight": "post_attention_norm.weight",
            "self_attn.sinks": "attn_sinks.weight",
            "mlp.router.weight": "ffn_gate_inp.weight",
            "mlp.router.bias": "ffn_gate_inp.bias",
            "mlp.experts.down_proj_bias": "ffn_down_exps.bias",
        }
        for theirs, ours in [("q", "q"), ("k", "k"), ("v", "v"), ("o", "output")]:
            for kind in ("weight", "bias"):
                names[f"self_attn.{theirs}_proj.{kind}"] = f"attn_{ours}.{kind}"
        block = {name: read(ours) for name, ours in names.items()}
        # Gate and up projections alternate, column by column, in one matrix of inputs × outputs.
        alternate = lambda kind: torch.stack([read(f"ffn_gate_exps.{kind}"), read(f"ffn_up_exps.{kind}")], dim=2).flatten(1, 2)  # noqa: E501, E731
        block["mlp.experts.gate_up_proj"] = alternate("weight").transpose(1, 2)
        block["mlp.experts.gate_up_proj_bias"] = alternate("bias")
        block["mlp.experts.down_proj"] = read("ffn_down_exps.weight").transpose(1, 2)
        weights.update({f"model.layers.{layer}.{name}": tensor for name, tensor in block.items()})
    save_file(
        {name: tensor.to(torch.bfloat16).contiguous() for name, tensor in weights.items()},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )


def write_config(field, folder: Path) -> None:
    key = lambda name: field(f"gpt-oss.{name}")  # noqa: E731
    layers = key("block_count")
    write_json(
        folder / "config.json",
        {
            "architectures": ["GptOssForCausalLM"],
            "model_type": "gpt_oss",
            "torch_dtype": "bfloat16",
            "vocab_size": len(field("tokenizer.ggml.tokens")),
            "hidden_size": key("embedding_length"),
            "intermediate_size": key("feed_forward_length"),
            "num_hidden_layers": layers,
            "num_attention_heads": key("attention.head_count"),
            "num_key_value_heads": key("attention.head_count_kv"),
            "head_dim": key("attention.key_length"),
            "num_local_experts": key("expert_count"),
            "num_experts_per_tok": key("expert_used_count"),
            "sliding_window": key("attention.sliding_window"),
            "layer_types": [["sliding_attention", "full_attention"][layer % 2] for layer in range(layers)],
            "max_position_embeddings": key("context_length"),
            "rms_norm_eps": key("attention.layer_norm_rms_epsilon"),
            # A factor of one leaves the frequencies as they are: the tiny model was not stretched.
            "rope_theta": key("rope.freq_base"),
            "rope_scaling": {
                "rope_type": "yarn",
                "factor": 1.0,
                "beta_fast": 32.0,
                "beta_slow": 1.0,
                "truncate": False,
                "original_max_position_embeddings": key("context_length"),
            },
            "attention_bias": True,
            "tie_word_embeddings": False,
            "hidden_act": "silu",
            "swiglu_limit": 7.0,
            "eos_token_id": RETURN,
            "pad_token_id": END_OF_TEXT,
        },
    )
    write_json(
        folder / "generation_config.json",
        {"eos_token_id": [RETURN, END_OF_TEXT, CALL], "pad_token_id": END_OF_TEXT, "do_sample": True},
    )


def write_tokenizer(tokens: list[str], merges: list[str], folder: Path) -> None:
    special = [
        {
            "id": id,
            "content": token,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for id, token in enumerate(tokens)
        if id >= ORDINARY_TOKENS and re.fullmatch(r"<\|.*\|>", token)
    ]
    write_json(
        folder / "tokenizer.json",
        {
            "version": "1.0",
            "added_tokens": special,
            "normalizer": None,
            "pre_tokenizer": {
                "type": "Sequence",
                "pretokenizers": [
                    {
                        "type": "Split",
                        "pattern": {"Regex": WORD_PATTERN},
                        "behavior": "Removed",
                        "invert": True,
                    },
                    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
                ],
            },
            "post_processor": None,
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": True,
                "vocab": {token: id for id, token in enumerate(tokens[:ORDINARY_TOKENS])},
                "merges": merges,
            },
        },
    )
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": "<|return|>",
            "pad_token": "<|endoftext|>",
            "clean_up_tokenization_spaces": False,
            "model_max_length": 8192,
        },
    )


def write_json(path: Path, value) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=None if path.name == "tokenizer.json" else 2))


main()
