"""PyTorch and what stands on it as goldens are made with them: one thread, no gradients, no words on the terminal."""


def prepare():
  import torch
  torch.set_num_threads(1)
  torch.set_grad_enabled(False)
  import diffusers
  import transformers
  for library in (transformers, diffusers):
    library.utils.logging.set_verbosity_error()
    library.utils.logging.disable_progress_bar()
