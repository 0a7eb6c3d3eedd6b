V1 a 0 1e308
V2 a b -1e308
R1 b 0 1e-320
I1 b 0 1e300
