V1 a 0 1
R1 c d
+ 1
