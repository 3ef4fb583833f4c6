"""AOTInductor packages (`model.pt2`): what an archive holds, and the runner inside it as a flat call."""
