# A header as doxygen reads it: its first comment is the file's own, and both backends' names are those of `precast`.
FNR == 1 { print "/// @file"; first = 1 }
first && /^\/\// {
  gsub(/</, "\\&lt;")  # of a name such as <memory>, which would be a tag
  print "/" $0
  next
}
{ first = 0 }
/^inline namespace PRECAST_BACKEND \{/ { print "extern \"C++\" {"; next }
# A concept without a comment is left out, as types are: doxygen would list it, without a page.
/^template </ && held == "" && last !~ /^\/\/\// { held = $0; last = $0; next }
held != "" {
  hidden = /^concept /
  if (hidden) print "/// @cond"
  print held
  held = ""
}
{ last = $0 }
hidden && /^[^ ].*;$/ {
  print
  print "/// @endcond"
  hidden = 0
  next
}
{ gsub(/et al\. /, "et al.\\ "); print }  # which does not end a sentence
