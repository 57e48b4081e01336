"""Effect sizes with confidence intervals: Cramér's V, mutual information, odds and risk ratios, differences."""
