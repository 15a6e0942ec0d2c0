"""What estimators that give evidence share, and the convex fits behind them."""
