"""What a run says beyond accuracy: recall, stopping, attribution, budgets, audits, cost."""
