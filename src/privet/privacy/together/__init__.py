"""One site of a study whose sites add up what they count: its keys, its policy, its door. Nothing
leaves it but numbers under masks, which mean something only in the sum over all sites."""
