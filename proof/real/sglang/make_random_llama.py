"""Make a checkpoint of a very small Llama with random weights and the tokenizer of another checkpoint.

usage: make_random_llama.py CHECKPOINT FOLDER
"""

import json
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

WIDTH, INNER, VOCABULARY = 64, 128, 201_088


def main() -> None:
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name in ["tokenizer.json", "tokenizer_config.json", "generation_config.json"]:
        shutil.copy(source / name, folder)
    torch.manual_seed(0)
    weights = {
        "model.embed_tokens.weight": torch.randn(VOCABULARY, WIDTH) * 0.5,
        "model.norm.weight": torch.ones(WIDTH),
        "lm_head.weight": torch.randn(VOCABULARY, WIDTH) * 0.5,
    }
    layer = "model.layers.0"
    for name in ["input_layernorm", "post_attention_layernorm"]:
        weights[f"{layer}.{name}.weight"] = torch.ones(WIDTH)
    for name in ["q_proj", "k_proj", "v_proj", "o_proj"]:
        weights[f"{layer}.self_attn.{name}.weight"] = torch.randn(WIDTH, WIDTH) * 0.05
    for name, shape in {
        "gate_proj": (INNER, WIDTH),
        "up_proj": (INNER, WIDTH),
        "down_proj": (WIDTH, INNER),
    }.items():
        weights[f"{layer}.mlp.{name}.weight"] = torch.randn(*shape) * 0.05
    halves = {name: weight.to(torch.bfloat16).contiguous() for name, weight in weights.items()}
    save_file(halves, folder / "model.safetensors", metadata={"format": "pt"})
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": WIDTH,
        "intermediate_size": INNER,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "torch_dtype": "bfloat16",
        "hidden_act": "silu",
        "bos_token_id": 199998,
        "eos_token_id": [200002, 199999, 200012],
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2))


main()
