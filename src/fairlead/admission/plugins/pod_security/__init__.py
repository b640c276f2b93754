"""PodSecurity: pods keep to the security standard that their namespace asks for."""
