"""What several kernels share: groups with members and costs, sweeps over groups, random numbers."""
