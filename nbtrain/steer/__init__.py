"""Steers any run, of this process or another: options, requests, receipts. No TensorFlow."""
