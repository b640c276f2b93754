"""PodSecurityPolicy: every pod needs a policy that its maker or its account may use."""
