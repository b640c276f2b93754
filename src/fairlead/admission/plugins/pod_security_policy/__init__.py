"""PodSecurityPolicy: every pod needs a policy that its creator or its service account may use."""
