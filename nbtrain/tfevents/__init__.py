"""The format of TensorBoard's event files: reading, checking and writing records."""
