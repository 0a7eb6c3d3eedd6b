V1 a 0 1.1
R1 a b 2k
I1 b 0 3u
.op
.end
