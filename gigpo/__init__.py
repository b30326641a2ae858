"""GiGPO: a learner that trains language agents with group-in-group policy optimization."""
